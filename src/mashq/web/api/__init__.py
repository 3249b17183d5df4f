"""The data behind the dashboard's pages."""
