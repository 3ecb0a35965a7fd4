package view

func (b *playbook) ansible() (string, error) { return "", nil }
