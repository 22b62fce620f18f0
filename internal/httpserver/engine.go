// Package httpserver contains the code that the three listeners of a node share. It configures the
// router and the timeouts, assigns request ids, recovers from panics, and writes the access log and
// the metrics.
package httpserver

import (
	"net/netip"

	"github.com/gin-gonic/gin"
)

// NewEngine returns a router that does not redirect requests and treats an encoded slash as part of a
// path segment. If a trusted proxy sent the request, the router takes the client's address from the
// header X-Forwarded-For. Otherwise it uses the address of the connection.
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
	// Gin also trusts X-Real-IP by default. Do not trust it, because a proxy that sets
	// X-Forwarded-For may pass on an X-Real-IP header from the client.
	engine.RemoteIPHeaders = []string{"X-Forwarded-For"}
	err := engine.SetTrustedProxies(proxies)
	return engine, err
}

// Get registers a handler for GET and HEAD requests to a pattern.
func Get(engine *gin.Engine, pattern string, handle gin.HandlerFunc) {
	engine.GET(pattern, handle)
	engine.HEAD(pattern, handle)
}
