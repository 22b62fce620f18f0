package config

// plainName reports whether an unknown name may be repeated in a message. It returns false for a base64
// key of 32 bytes or a URL, which may be a secret that a user entered there by mistake.
func plainName(name string) bool {
	const longest = 40
	if name == "" || len(name) > longest {
		return false
	}
	for _, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
