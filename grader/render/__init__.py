"""From records to what people and programs read. Nothing here decides, and nothing prints."""
