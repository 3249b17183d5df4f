"""What people see: tables and documents made from a played match."""
