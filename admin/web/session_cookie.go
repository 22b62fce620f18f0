package web

import "net/http"

// cookieName returns the name of the session cookie. In production, the prefix __Host- restricts the
// cookie to HTTPS and to this host. In development, the console does not use HTTPS.
func (c *Console) cookieName() string {
	if c.production() {
		return "__Host-pingpost"
	}
	return "pingpost_session"
}

func (k *Request) sessionToken() string {
	cookie, err := k.R.Cookie(k.console.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// SetSessionCookie sets the session cookie. An empty token removes it.
func (k *Request) SetSessionCookie(token string) {
	cookie := &http.Cookie{ //nolint:gosec // a development console has no https
		Name:     k.console.cookieName(),
		Value:    token,
		Path:     "/",
		HttpOnly: true,
		Secure:   k.console.production(),
		SameSite: http.SameSiteLaxMode,
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(k.W, cookie)
}
