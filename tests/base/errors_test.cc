// The errno table, messages, and Result at the front door.
#include "base/errors.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <stdexcept>
#include <string>

namespace fulcrum {
namespace {

TEST(ErrnoTable, EveryRowSaysWhatToDo) {
  std::set<int> codes;
  std::set<std::string_view> names;
  std::set<std::string_view> hints;
  for (const ErrnoRow& row : errno_table()) {
    EXPECT_TRUE(codes.insert(row.code).second) << row.name << " twice";
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_TRUE(hints.insert(row.next_step).second) << row.name << " repeats another row's advice";
    EXPECT_NE(row.kind, ErrorKind::internal) << row.name;
    const Error error = os_error(row.code, "write", "/data/x");
    EXPECT_EQ(error.kind, row.kind);
    EXPECT_EQ(error.os_error, row.code);
    EXPECT_EQ(error.scope, row.scope);
    EXPECT_EQ(error.retryable, row.retryable);
    const std::string message = error.message();
    EXPECT_EQ(message.find("cannot write /data/x: "), 0U) << message;
    EXPECT_NE(message.find("(" + std::string(row.name) + ")"), std::string::npos) << message;
    EXPECT_NE(message.find(row.next_step), std::string::npos) << message;
    EXPECT_GE(row.next_step.size(), 20U) << row.name;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(ErrnoTable, NamesTheErrorsThatDisksAndQuotasReallyGive) {
  struct Expected {
    int code;
    ErrorKind kind;
  };
  const Expected expected[] = {{ENOSPC, ErrorKind::no_space},
                               {EDQUOT, ErrorKind::quota},
                               {EROFS, ErrorKind::read_only},
                               {EIO, ErrorKind::device},
                               {EMFILE, ErrorKind::file_limit},
                               {ENFILE, ErrorKind::file_limit},
                               {ENOMEM, ErrorKind::no_memory},
                               {ETIMEDOUT, ErrorKind::timed_out},
                               {ENOENT, ErrorKind::not_found},
                               {EACCES, ErrorKind::permission},
                               {EPERM, ErrorKind::permission},
                               {EAGAIN, ErrorKind::busy},
                               {EBUSY, ErrorKind::busy},
                               {EINTR, ErrorKind::interrupted},
                               {EOPNOTSUPP, ErrorKind::unsupported},
                               {ENOSYS, ErrorKind::unsupported},
                               {EINVAL, ErrorKind::unsupported},
                               {ESTALE, ErrorKind::stale},
                               {ECONNREFUSED, ErrorKind::unreachable},
                               {EPIPE, ErrorKind::unreachable},
                               {ENODEV, ErrorKind::device}};
  for (const auto& [code, kind] : expected) EXPECT_EQ(os_error(code, "x", "y").kind, kind) << code;
}

TEST(ErrnoTable, AnUnknownErrnoIsInternalAndKeepsItsNumber) {
  const Error error = os_error(99999, "open", "/data");
  EXPECT_EQ(error.kind, ErrorKind::internal);
  EXPECT_EQ(error.os_error, 99999);
  EXPECT_FALSE(error.retryable);
  EXPECT_NE(error.message().find("99999"), std::string::npos);
  EXPECT_NE(error.message().find("report"), std::string::npos);
}

TEST(ErrorKinds, HaveDistinctNames) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::internal); ++kind) {
    EXPECT_TRUE(names.insert(to_string(static_cast<ErrorKind>(kind))).second) << kind;
  }
}

TEST(Message, LeavesOutWhatIsUnknown) {
  EXPECT_EQ(bad_input("a.yaml", "is a directory", "name a file").message(),
            "a.yaml: is a directory; name a file");
  EXPECT_EQ(bad_input({}, "nothing to do").message(), "nothing to do");
  EXPECT_EQ(make_error(ErrorKind::corrupt, "read", "f", "", "").message(), "cannot read f");
  EXPECT_EQ(Error{}.message(), "internal");
}

TEST(Message, DoesNotRepeatThePlaceThatItsLinesCarry) {
  EXPECT_EQ(make_error(ErrorKind::bad_input, "read", "a.yaml", "a.yaml:1:2: wrong").message(),
            "cannot read: a.yaml:1:2: wrong");
  EXPECT_EQ(
      make_error(ErrorKind::bad_input, "read", "a.yaml", "a.yaml:1:2: wrong\na.yaml:3:4: worse").message(),
      "cannot read:\n  a.yaml:1:2: wrong\n  a.yaml:3:4: worse");
}

Result<int> half(int number) {
  if (number % 2 != 0) return bad_input({}, "odd");
  return number / 2;
}

TEST(ResultValue, CarriesAValueOrAnError) {
  EXPECT_EQ(*half(8), 4);
  ASSERT_FALSE(half(7));
  EXPECT_EQ(half(7).error().detail, "odd");
  const Result<void> fine;
  EXPECT_TRUE(fine);
}

TEST(ResultValue, ThrowsTheMessageWhenTakenUnchecked) {
  try {
    (void)half(7).value();
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()).find("odd"), 0U) << error.what();
  }
}

}  // namespace
}  // namespace fulcrum
