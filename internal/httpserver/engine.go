// Package httpserver contains what the three listeners of a node share: the router's
// settings, request ids, recovery from panics, the access log, metrics and timeouts.
package httpserver

import (
	"net/netip"

	"github.com/gin-gonic/gin"
)

// NewEngine returns a router that does not redirect, and for which an encoded slash is part
// of a path segment. It takes the client's address from X-Forwarded-For only, and only from
// trusted proxies.
func NewEngine(trustedProxies []netip.Prefix) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode) // debug mode prints the routes
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
	// Exclude X-Real-IP, which gin trusts by default: a proxy that sets X-Forwarded-For
	// may pass on the client's X-Real-IP unchanged.
	engine.RemoteIPHeaders = []string{"X-Forwarded-For"}
	err := engine.SetTrustedProxies(proxies)
	return engine, err
}

// Get registers a handler for GET and HEAD requests to a pattern.
func Get(engine *gin.Engine, pattern string, handle gin.HandlerFunc) {
	engine.GET(pattern, handle)
	engine.HEAD(pattern, handle)
}
