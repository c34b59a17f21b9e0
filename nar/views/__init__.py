"""Everything that draws an answer: tables, HTML, pictures, JSON."""
