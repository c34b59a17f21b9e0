"""Generated from `proto/nar/v1/retrieval.proto` by `make proto`; never edited by hand."""
