package admintest

// HostileText is what no page may run.
const HostileText = `"><script>alert('canary')</script><img src=x onerror=alert(1)>'; DROP TABLE staff; --`
