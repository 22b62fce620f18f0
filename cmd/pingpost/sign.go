package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

func signCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sign",
		Short: "Sign a post's body; with --url, also send the post",
		Long: "Read a post's body from standard input, sign its exact bytes, and print the two signature headers.\n" +
			"With --url, send the signed post and print the response instead. The response's status and request\n" +
			"ID are printed to standard error. The secret is read from PINGPOST_SECRET, so that it does not\n" +
			"appear in the process list.",
		Args: noArgs,
	}
	url := c.Flags().String("url", "", "send the signed post to this URL")
	timestamp := c.Flags().Int64("timestamp", 0, "the timestamp to sign with, in Unix seconds (default: now)")
	ahead := c.Flags().Duration("clock-offset", 0,
		"the `DURATION` by which the service's clock runs ahead of this machine's")
	c.RunE = func(c *cobra.Command, _ []string) error {
		secret := os.Getenv("PINGPOST_SECRET")
		if secret == "" {
			return usageError{errors.New("PINGPOST_SECRET is required: set it to the partner's signing secret")}
		}
		body, err := io.ReadAll(io.LimitReader(c.InOrStdin(), 1<<20))
		if err != nil {
			return fmt.Errorf("reading the body: %w", err)
		}
		if *timestamp == 0 {
			*timestamp = clock.System{Offset: *ahead}.Now().Unix()
		}
		ts := strconv.FormatInt(*timestamp, 10)
		signature := signing.Sign([]byte(secret), ts, body)
		if *url == "" {
			_, err := fmt.Fprintf(c.OutOrStdout(), "X-Timestamp: %s\nX-Signature-SHA256: %s\n", ts, signature)
			return err
		}
		return send(c, *url, ts, signature, body)
	}
	return c
}

func send(c *cobra.Command, url, timestamp, signature string, body []byte) error {
	req, err := http.NewRequestWithContext(c.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return usageError{fmt.Errorf("--url is not a URL: %w", err)}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Timestamp", timestamp)
	req.Header.Set("X-Signature-SHA256", signature)
	resp, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return fmt.Errorf("sending the post: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	fmt.Fprintln(c.OutOrStdout(), strings.TrimSpace(string(text)))
	status := resp.Status
	if request := resp.Header.Get("X-Request-Id"); request != "" {
		status += ", X-Request-Id " + request
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the API responded with %s", status)
	}
	if resp.Header.Get("Idempotent-Replayed") == "true" {
		status += " (replay: an earlier post with the same body stored the lead)"
	}
	fmt.Fprintln(c.ErrOrStderr(), status)
	return nil
}
