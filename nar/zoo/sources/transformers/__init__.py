"""The models of transformers: its auto tables, configurations and inputs."""
