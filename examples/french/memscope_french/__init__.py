"""French for memscope: the plugin that registers it. ``french.py`` is imported when the first text is read."""


def memscope_register_languages(register):
    register("fr", "memscope_french.french:FRENCH")
