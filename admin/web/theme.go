package web

import (
	"net/http"
	"time"
)

const (
	themeCookie = "pingpost_theme"
	year        = 365 * 24 * time.Hour
)

// theme returns the chosen theme: "light", "dark", or "" to follow the system.
func (k *Request) theme() string {
	cookie, err := k.R.Cookie(themeCookie)
	if err != nil || cookie.Value != "light" && cookie.Value != "dark" {
		return ""
	}
	return cookie.Value
}

// SetTheme stores the chosen colour theme in a cookie.
func SetTheme(k *Request) error {
	choice, age := k.R.PostForm.Get("theme"), year
	if choice != "light" && choice != "dark" {
		choice, age = "", -time.Second
	}
	http.SetCookie(k.W, &http.Cookie{ //nolint:gosec // a development console has no https
		Name:     themeCookie,
		Value:    choice,
		Path:     "/",
		MaxAge:   int(age.Seconds()),
		HttpOnly: true,
		Secure:   k.console.production(),
		SameSite: http.SameSiteLaxMode,
	})
	return k.Redirect(Local(k.R.PostForm.Get("return")))
}
