"""The test stage on a disk without room: `python -m tests.narrow BYTES`.

No file of this process may grow beyond that many bytes: the system refuses the write, as a full
disk does, at whatever instant the store comes to it.
"""

import resource
import sys

from tests.stages import main

if __name__ == "__main__":
    most_bytes = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    sys.exit(main())
