"""Run the stages of the back end: one driver for embed, consolidate and reflect."""
