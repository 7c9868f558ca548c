"""Files that arguments name: inputs that are there, outputs that replace nothing by mistake."""
