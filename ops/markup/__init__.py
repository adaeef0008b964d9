"""Pages and pictures: what is put into them is escaped by what they are made of."""
