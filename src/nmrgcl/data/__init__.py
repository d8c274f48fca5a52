"""Load datasets by name, from files, or from objects of other libraries."""
