"""What results look like: pieces of pages, charts, and how they are drawn; it knows no kind."""
