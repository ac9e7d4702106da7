// The io_uring engine of a build without liburing: a refusal that says so.
#ifndef FULCRUM_HAVE_URING

#include "base/errors.h"
#include "tiers/uring.h"

namespace fulcrum {

Result<std::unique_ptr<IoEngine>> make_uring_engine(std::shared_ptr<const FileSet> files,
                                                    const UringOptions& /*options*/) {
  return make_error(ErrorKind::unsupported, "set up io_uring for", files->directory(),
                    "this build has no liburing", "install liburing-dev and build again");
}

}  // namespace fulcrum

#endif  // FULCRUM_HAVE_URING
