"""The one place where an answer is made: query, retrieval, verdict, evidence, novelty."""
