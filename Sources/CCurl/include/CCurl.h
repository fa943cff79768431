// libcurl for Swift: its header, and its variadic functions for each type of their last argument.
#ifndef HALCYON_CCURL_H
#define HALCYON_CCURL_H

#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "Halcyon needs libcurl 7.87 or later: CURLOPT_QUICK_EXIT (7.87), CURLOPT_PROTOCOLS_STR (7.85), CURLOPT_PREREQFUNCTION (7.80)"
#endif

// The values of CURLOPT_HTTPAUTH.
static const long CCURL_AUTH_BASIC = (long)CURLAUTH_BASIC;
static const long CCURL_AUTH_DIGEST = (long)CURLAUTH_DIGEST;

// curl_easy_setopt. The option must have the type that the function's name states.
CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *handle, CURLoption option, curl_off_t value);
// libcurl copies the string; NULL resets the option.
CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value);
CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value);
// The list must live until the transfer has ended.
CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *list);
// CURLOPT_COPYPOSTFIELDS with its length: the bytes are copied.
CURLcode ccurl_set_body(CURL *handle, const void *bytes, curl_off_t count);

// CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
typedef size_t (*ccurl_bytes_callback)(char *bytes, size_t size, size_t count, void *context);
CURLcode ccurl_on_body(CURL *handle, ccurl_bytes_callback callback, void *context);
CURLcode ccurl_on_header(CURL *handle, ccurl_bytes_callback callback, void *context);

// CURLOPT_PREREQFUNCTION: there is a connection, new or kept, and the request is about to be sent.
typedef int (*ccurl_connected_callback)(
    void *context, char *remote_address, char *local_address, int remote_port, int local_port);
CURLcode ccurl_on_connected(CURL *handle, ccurl_connected_callback callback, void *context);

// CURLOPT_OPENSOCKETFUNCTION: an address is about to be connected to. CURL_SOCKET_BAD refuses it.
CURLcode ccurl_on_open_socket(CURL *handle, curl_opensocket_callback callback, void *context);
// Opens the socket as libcurl would; it is closed when a child process executes another program.
curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address);
// Writes the bytes of an IP address, in network byte order, and its port. Returns their number: 4, 16, or 0 for another family.
int ccurl_address_bytes(const struct curl_sockaddr *address, unsigned char bytes[16], int *port);

// CURLOPT_XFERINFOFUNCTION: the bytes of the body that were received and sent so far.
CURLcode ccurl_on_progress(CURL *handle, curl_xferinfo_callback callback, void *context);

// curl_easy_getinfo. An unknown value is 0 or NULL; a string is valid until the handle is used again.
long ccurl_get_long(CURL *handle, CURLINFO info);
curl_off_t ccurl_get_offset(CURL *handle, CURLINFO info);
const char *ccurl_get_string(CURL *handle, CURLINFO info);
void *ccurl_get_pointer(CURL *handle, CURLINFO info);

// Whether libcurl, as it was built, decodes a content coding, whose name is in lower case.
int ccurl_decodes(const char *coding);

// curl_multi_setopt and curl_share_setopt.
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLSHcode ccurl_share_data(CURLSH *share, curl_lock_data data);

// curl_multi_info_read: the next handle that has ended, with its result; NULL if there is none.
CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result);

#endif
