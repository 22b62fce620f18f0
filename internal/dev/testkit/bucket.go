package testkit

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/pingpost/pingpost/internal/dev/devprogram"
	"github.com/pingpost/pingpost/internal/platform/journal"
)

// s3Server is the S3 server for tests. It checks signatures and policies, and honours If-None-Match.
var s3Server = devprogram.Module{
	Name: "s3dev", Package: "github.com/versity/versitygw/cmd/versitygw",
	Notice: "building an S3 server for tests; this takes a minute or two the first time",
}

const (
	bucketName   = "erasures"
	bucketPrefix = "pingpost/"
	bucketRegion = "eu-central-1"
	nodesKey     = "node"
	rootKey      = "root"
	bucketSecret = "secret-of-tests"
)

// Bucket is a bucket for one test, on a real S3 server. It is prepared as in
// docs/how-to/erase-contact-data.md.
type Bucket struct {
	Options journal.Options // of a node, which may list, read and add objects
	Address string          // of the server: host and port
	root    *minio.Client   // may do everything
}

// NewBucket starts an S3 server with a bucket. It stops when the test ends.
func NewBucket(t testing.TB) *Bucket {
	t.Helper()
	program, err := devprogram.Build(t.Context(), s3Server, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatalf("cannot start an S3 server for tests: %v", err)
	}
	b := &Bucket{Address: FreeAddress(t)}
	dir := t.TempDir()
	for _, name := range []string{"data", "metadata", "users", "versions"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log := &Log{}
	cmd := exec.Command(program, "--port", b.Address, "--region", bucketRegion, "--access", rootKey, "--secret", bucketSecret, "--health", "/health", "--quiet",
		"--iam-dir", filepath.Join(dir, "users"), "posix", "--sidecar", filepath.Join(dir, "metadata"), "--versioning-dir", filepath.Join(dir, "versions"), filepath.Join(dir, "data"))
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{}, log, log
	server, err := devprogram.Run(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	Eventually(t, time.Minute, "the S3 server responds", func() bool {
		response, err := http.Get("http://" + b.Address + "/health")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	user := exec.CommandContext(t.Context(), program, "admin", "--access", rootKey, "--secret", bucketSecret, "--region", bucketRegion, "--endpoint-url", "http://"+b.Address,
		"create-user", "--access", nodesKey, "--secret", bucketSecret, "--role", "user")
	if out, err := user.CombinedOutput(); err != nil {
		t.Fatalf("creating a user: %v: %s", err, out)
	}
	if b.root, err = minio.New(b.Address, &minio.Options{Creds: credentials.NewStaticV4(rootKey, bucketSecret, ""), Region: bucketRegion}); err != nil {
		t.Fatal(err)
	}
	if err := b.root.MakeBucket(t.Context(), bucketName, minio.MakeBucketOptions{ObjectLocking: true}); err != nil {
		t.Fatalf("creating the bucket: %v\n%s", err, log)
	}
	mode, days, unit := minio.Compliance, uint(1), minio.Days
	if err := b.root.SetObjectLockConfig(t.Context(), bucketName, &mode, &days, &unit); err != nil {
		t.Fatalf("setting the default retention: %v", err)
	}
	b.Allow(t, "s3:PutObject", "s3:GetObject", "s3:ListBucket")
	b.Options = journal.Options{
		Location: "s3://" + bucketName + "/" + bucketPrefix, Endpoint: "http://" + b.Address, Region: bucketRegion, AccessKey: nodesKey, SecretKey: bucketSecret,
	}
	return b
}

// Allow changes what nodes are allowed to do.
func (b *Bucket) Allow(t testing.TB, actions ...string) {
	t.Helper()
	var statements bytes.Buffer
	for _, action := range actions {
		resource := bucketName + "/" + bucketPrefix + "*"
		if action == "s3:ListBucket" {
			resource = bucketName
		}
		if statements.Len() > 0 {
			statements.WriteByte(',')
		}
		fmt.Fprintf(&statements, `{"Effect":"Allow","Principal":{"AWS":[%q]},"Action":[%q],"Resource":["arn:aws:s3:::%s"]}`, nodesKey, action, resource)
	}
	policy := ""
	if len(actions) > 0 {
		policy = `{"Version":"2012-10-17","Statement":[` + statements.String() + `]}`
	}
	if err := b.root.SetBucketPolicy(t.Context(), bucketName, policy); err != nil {
		t.Fatal(err)
	}
}

// Put stores an object, and replaces an existing one.
func (b *Bucket) Put(t testing.TB, name string, content []byte) {
	t.Helper()
	_, err := b.root.PutObject(t.Context(), bucketName, bucketPrefix+name, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{SendContentMd5: true})
	if err != nil {
		t.Fatal(err)
	}
}

// Remove removes an object.
func (b *Bucket) Remove(t testing.TB, name string) {
	t.Helper()
	if err := b.root.RemoveObject(t.Context(), bucketName, bucketPrefix+name, minio.RemoveObjectOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Names returns the names of the objects, in order.
func (b *Bucket) Names(t testing.TB) (names []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for object := range b.root.ListObjectsIter(ctx, bucketName, minio.ListObjectsOptions{Prefix: bucketPrefix, Recursive: true}) {
		if object.Err != nil {
			t.Fatal(object.Err)
		}
		names = append(names, object.Key[len(bucketPrefix):])
	}
	return names
}
