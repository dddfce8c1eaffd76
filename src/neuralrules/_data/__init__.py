"""From a user's table to the columns that rules work on."""
