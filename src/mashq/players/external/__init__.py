"""Programs of anyone's as players."""
