"""Reading and writing files, archives and pages."""
