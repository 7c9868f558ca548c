"""One experiment a file: its problems, contenders, values of C and budgets, as data."""
