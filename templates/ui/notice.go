package ui

import "context"

type noticeKey struct{}

// WithNotice returns a context in which pages also show the given notice. It returns ctx if there is none.
func WithNotice(ctx context.Context, n *Notice) context.Context {
	if n == nil {
		return ctx
	}
	return context.WithValue(ctx, noticeKey{}, *n)
}

// withNotice returns the notices of a page, beginning with the one in the context.
func withNotice(ctx context.Context, all []Notice) []Notice {
	if n, ok := ctx.Value(noticeKey{}).(Notice); ok {
		return append([]Notice{n}, all...)
	}
	return all
}
