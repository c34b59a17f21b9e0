"""What a repository states about the values that its models are built with."""
