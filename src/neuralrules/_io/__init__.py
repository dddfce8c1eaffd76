"""Input and output other than tables: data frames, progress, warnings, pages and files."""
