"""What users see: documents, tables and pages made from recorded runs."""
