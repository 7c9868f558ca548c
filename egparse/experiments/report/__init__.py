"""What a comparison leaves: records, tables, figures."""
