"""Plugin that registers French. ``french.py`` is imported when the first text is processed."""


def memscope_register_languages(register):
    register("fr", "memscope_french.french:FRENCH")
