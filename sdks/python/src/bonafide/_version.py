"""The version of this package, which the header User-Agent states. A test compares it with pyproject.toml."""

VERSION = "0.1.0"
