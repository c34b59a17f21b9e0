"""Programs saved by `torch.export.save`, read without running what they bring."""
