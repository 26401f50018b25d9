"""What both peers share: how they measure themselves."""

import json
import resource
import time

started = time.monotonic()


def report(rows):
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                "cpuSeconds": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
                "wallSeconds": time.monotonic() - started,
                "peakRssMb": round(peak_rss_mb()),
                "rows": rows,
            }
        )
    )


def peak_rss_mb():
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
