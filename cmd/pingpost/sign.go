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

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/signing"
)

func signCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sign",
		Short: "Sign a post's body, and send it with --url",
		Long: "Sign the body that is read from standard input (its exact bytes) and print the two headers.\n" +
			"With --url the post is sent and its answer printed; its status and request id go to standard\n" +
			"error. The secret is PINGPOST_SECRET, so that it does not show in the list of processes.",
		Args: noArgs,
	}
	url := c.Flags().String("url", "", "send the signed post to this address")
	timestamp := c.Flags().Int64("timestamp", 0, "Unix seconds to sign with (default now)")
	ahead := c.Flags().Duration("clock-offset", 0, "how far the service's clock runs ahead of this machine's")
	c.RunE = func(c *cobra.Command, _ []string) error {
		secret := os.Getenv("PINGPOST_SECRET")
		if secret == "" {
			return usageError{errors.New("no secret: set PINGPOST_SECRET")}
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
		return usageError{fmt.Errorf("--url is not an address: %w", err)}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Timestamp", timestamp)
	req.Header.Set("X-Signature-SHA256", signature)
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return fmt.Errorf("sending the post: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	fmt.Fprintln(c.OutOrStdout(), strings.TrimSpace(string(text)))
	told := answer.Status
	if request := answer.Header.Get("X-Request-Id"); request != "" {
		told += ", X-Request-Id " + request
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the post was answered with %s", told)
	}
	if answer.Header.Get("Idempotent-Replayed") == "true" {
		told += ": a replay, the lead was stored by an earlier post of the same body"
	}
	fmt.Fprintln(c.ErrOrStderr(), told)
	return nil
}
