"""What client and server share: the messages and the records that they carry."""
