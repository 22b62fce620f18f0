package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// profileTime is how long a profile takes: long enough for what is rare to show.
const profileTime = 10 * time.Second

// profile writes two profiles of the product at work: of its processor time, and
// of what it allocates. That turn gives no figures.
func (b *bench) profile(ctx context.Context, ops, part string, c *contender) error {
	if b.profiles == "" {
		return nil
	}
	kinds := []struct{ name, path string }{{"cpu", "profile"}, {"allocs", "allocs"}}
	ended := make(chan error, len(kinds))
	for _, kind := range kinds {
		url := fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", ops, kind.path, seconds(profileTime))
		file := filepath.Join(b.profiles, part+"."+kind.name+".pprof")
		go func() { ended <- download(ctx, url, file) }()
	}
	_, err := c.turn(ctx, profileTime)
	for range kinds {
		err = errors.Join(err, <-ended)
	}
	return err
}

func download(ctx context.Context, url, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the product gives no profile: %s", answer.Status)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}
