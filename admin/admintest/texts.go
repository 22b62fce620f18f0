package admintest

// HostileText contains markup and SQL that must not be executed anywhere.
const HostileText = `"><script>alert('canary')</script><img src=x onerror=alert(1)>'; DROP TABLE staff; --`
