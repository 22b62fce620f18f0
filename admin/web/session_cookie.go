package web

import "net/http"

// cookieName names the session's cookie. The prefix __Host- makes browsers insist on HTTPS and
// on this host. A development console has no HTTPS.
func (c *Console) cookieName() string {
	if c.production() {
		return "__Host-pingpost"
	}
	return "pingpost_session"
}

// sessionToken returns the token in the session's cookie, or "".
func sessionToken(k *Request) string {
	cookie, err := k.R.Cookie(k.console.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// SetSessionCookie sets the session's cookie. An empty token removes it.
func SetSessionCookie(k *Request, token string) {
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
