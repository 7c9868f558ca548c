"""Models by name, pages and the HTTP service."""
