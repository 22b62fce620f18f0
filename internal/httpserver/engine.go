// Package httpserver is what the three listeners of a node share: how the router treats
// addresses, a request's id, recovery from panics, the access log, metrics and time-outs.
package httpserver

import (
	"net/netip"

	"github.com/gin-gonic/gin"
)

// NewEngine returns a router that takes addresses as they are: it redirects nothing, and an
// encoded slash is a part of a segment. Of the headers that name a client's address it
// believes X-Forwarded-For alone, and only from a trusted proxy.
func NewEngine(trustedProxies []netip.Prefix) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode) // it would print the routes
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.RemoveExtraSlash = false
	engine.UseRawPath = true
	var proxies []string
	for _, p := range trustedProxies {
		proxies = append(proxies, p.String())
	}
	// Not X-Real-IP besides, which gin would believe too: a proxy that sets the one
	// may pass on the other as a client sent it.
	engine.RemoteIPHeaders = []string{"X-Forwarded-For"}
	err := engine.SetTrustedProxies(proxies)
	return engine, err
}

// Get serves GET and HEAD of an address.
func Get(engine *gin.Engine, pattern string, handle gin.HandlerFunc) {
	engine.GET(pattern, handle)
	engine.HEAD(pattern, handle)
}
