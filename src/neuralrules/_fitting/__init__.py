"""One fit for every source of rows: from a table and settings to a `Fitted`."""
