"""Plain classes shared by every floor: no input or output, no third-party import."""
