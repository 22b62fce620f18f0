package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// bucketTimeout limits how long a call to Read, Write or Last may take, including retries.
	bucketTimeout  = 3 * time.Second
	bucketAttempts = 2 // for each request
	bucketPause    = 50 * time.Millisecond
)

const bucketScheme = "s3://"

// IsBucket reports whether the location of a journal is a bucket.
func IsBucket(location string) bool { return strings.HasPrefix(location, bucketScheme) }

var bucketLocation = regexp.MustCompile(`^s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*)/?$`)

// ParseBucket returns the name of the bucket in a location, such as s3://bucket/a/prefix, and the prefix
// of the objects, which is "" or ends with a slash. ok is false if the location is not valid.
func ParseBucket(location string) (bucket, prefix string, ok bool) {
	parts := bucketLocation.FindStringSubmatch(location)
	if parts == nil {
		return "", "", false
	}
	if prefix = strings.TrimPrefix(parts[2], "/"); prefix != "" {
		prefix += "/"
	}
	return parts[1], prefix, true
}

// bucket is a journal in an S3-compatible bucket, with an object for each entry.
type bucket struct {
	client       minio.Core
	keys         bucketKeys
	name, prefix string
}

func openBucket(o Options) (Store, error) {
	b := &bucket{}
	var ok bool
	if b.name, b.prefix, ok = ParseBucket(o.Location); !ok {
		return nil, errors.New("the location of the erasure journal is not of the form s3://BUCKET/PREFIX")
	}
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || endpoint.Host == "" {
		return nil,
			errors.New("the endpoint of the erasure journal's bucket is not an origin, such as https://s3.example.com")
	}
	b.keys.set(o.AccessKey, o.SecretKey)
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.New(&b.keys), Secure: endpoint.Scheme == "https", Region: o.Region,
		MaxRetries: bucketAttempts,
	})
	if err != nil {
		return nil, fmt.Errorf("the endpoint of the erasure journal's bucket is not valid: %w", err)
	}
	b.client = minio.Core{Client: client}
	return b, nil
}

// SetCredentials replaces the keys with which the bucket of a journal is used. It does nothing for a folder.
func SetCredentials(s Store, accessKey, secretKey string) {
	if b, ok := s.(*bucket); ok {
		b.keys.set(accessKey, secretKey)
	}
}

// bucketKeys implements credentials.Provider with keys that can be replaced.
type bucketKeys struct {
	current atomic.Pointer[credentials.Static]
}

func (k *bucketKeys) set(accessKey, secretKey string) {
	k.current.Store(&credentials.Static{Value: credentials.Value{
		AccessKeyID: accessKey, SecretAccessKey: secretKey, SignerType: credentials.SignatureV4,
	}})
}

func (k *bucketKeys) Retrieve() (credentials.Value, error) { return k.current.Load().Retrieve() }

func (k *bucketKeys) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	return k.current.Load().RetrieveWithCredContext(c)
}

// IsExpired returns true, so that the keys are read for each request.
func (k *bucketKeys) IsExpired() bool { return true }

// Read implements Store. If the bucket is missing, Read does not return ErrNotFound.
func (b *bucket) Read(ctx context.Context, sequence int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	return b.read(ctx, sequence)
}

func (b *bucket) read(ctx context.Context, sequence int64) ([]byte, error) {
	object, _, _, err := b.client.GetObject(ctx, b.name, b.prefix+Name(sequence), minio.GetObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, bucketCause(err)
	}
	defer object.Close()
	text, err := readEntry(object)
	return text, bucketCause(err)
}

// Write implements Store. The server never overwrites an entry, even if several nodes write at once, because the
// request requires that the object does not exist.
func (b *bucket) Write(ctx context.Context, sequence int64, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	switch stored, err := b.read(ctx, sequence); { // in case the service ignores the condition of the request
	case err == nil && !bytes.Equal(stored, text):
		return ErrConflict
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	}
	for {
		if err := b.add(ctx, Name(sequence), text); err != nil {
			return bucketCause(err)
		}
		switch stored, err := b.read(ctx, sequence); {
		case err == nil && bytes.Equal(stored, text):
			return nil
		case err == nil:
			return ErrConflict
		case !errors.Is(err, ErrNotFound):
			return err
		}
		select { // another node is writing this entry
		case <-ctx.Done():
			return bucketCause(ctx.Err())
		case <-time.After(bucketPause):
		}
	}
}

// CheckWrite implements Store. It adds an object that is not an entry, unless it exists already. Deleting
// it would need a permission that nodes must not have, and replacing it would add a version each time. Once the
// object exists, CheckWrite does not detect a bucket that is full or over its quota.
func (b *bucket) CheckWrite(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	return bucketCause(b.add(ctx, checkName, []byte("{}")))
}

// add adds an object, unless it exists already or another node is adding it.
func (b *bucket) add(ctx context.Context, name string, text []byte) error {
	o := minio.PutObjectOptions{ContentType: "application/json", DisableMultipart: true, SendContentMd5: true} // object lock requires a checksum
	o.SetMatchETagExcept("*")
	_, err := b.client.Client.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(text), int64(len(text)), o)
	switch minio.ToErrorResponse(err).Code {
	case minio.PreconditionFailed, "ConditionalRequestConflict":
		return nil
	}
	return err
}

// Last implements Store. It lists only objects with higher sequence numbers.
func (b *bucket) Last(ctx context.Context, after int64) (last int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	list := minio.ListObjectsOptions{Prefix: b.prefix, StartAfter: b.prefix + Name(after)}
	for object := range b.client.ListObjectsIter(ctx, b.name, list) {
		if object.Err != nil {
			return 0, bucketCause(object.Err)
		}
		last = max(last, sequenceOf(strings.TrimPrefix(object.Key, b.prefix)))
	}
	if last <= after { // the service ignores StartAfter
		last = 0
	}
	return last, bucketCause(ctx.Err())
}

// bucketCause returns an error without the URL of the request, which users must not see.
func bucketCause(err error) error {
	var response minio.ErrorResponse
	var request *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the bucket did not respond within %s", bucketTimeout)
	case errors.As(err, &response):
		return fmt.Errorf("the bucket responded with %d %s", response.StatusCode, response.Code)
	case errors.As(err, &request) && strings.Contains(request.Err.Error(), request.URL): // minio-go adds the URL
		return errors.New("the bucket closed the connection")
	case errors.As(err, &request):
		return request.Err
	}
	return err
}
