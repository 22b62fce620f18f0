// Package httpserver contains the code that the listeners of a node share. It configures the router and
// the timeouts, assigns request ids, finds the clients' addresses, recovers from panics, and writes the
// access log and the metrics.
package httpserver

import "github.com/gin-gonic/gin"

// NewEngine returns a router that does not redirect requests and treats an encoded slash as part of a
// path segment.
func NewEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode) // debug mode prints the routes
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.RemoveExtraSlash = false
	engine.UseRawPath = true
	engine.ForwardedByClientIP = false // Gin trusts every proxy by default; use Record.Client
	return engine
}

// Get registers a handler for GET and HEAD requests to a pattern.
func Get(engine *gin.Engine, pattern string, handle gin.HandlerFunc) {
	engine.GET(pattern, handle)
	engine.HEAD(pattern, handle)
}
