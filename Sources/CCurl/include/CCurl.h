// libcurl for Swift: its header, and its variadic functions once for each type of their last argument.
#ifndef HALCYON_CCURL_H
#define HALCYON_CCURL_H

#include <curl/curl.h>

// What CURLOPT_HTTPAUTH takes.
static const long CCURL_AUTH_BASIC = (long)CURLAUTH_BASIC;
static const long CCURL_AUTH_DIGEST = (long)CURLAUTH_DIGEST;

// curl_easy_setopt. The option must take what the function's name says.
CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *handle, CURLoption option, curl_off_t value);
// libcurl copies the string; NULL takes the option back.
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

// CURLOPT_PREREQFUNCTION: the connection is there, the request is about to be sent.
typedef int (*ccurl_connected_callback)(
    void *context, char *remote_address, char *local_address, int remote_port, int local_port);
CURLcode ccurl_on_connected(CURL *handle, ccurl_connected_callback callback, void *context);

// curl_easy_getinfo. What cannot be told is 0 or NULL; a string lives as long as the handle is left alone.
long ccurl_get_long(CURL *handle, CURLINFO info);
curl_off_t ccurl_get_offset(CURL *handle, CURLINFO info);
const char *ccurl_get_string(CURL *handle, CURLINFO info);
void *ccurl_get_pointer(CURL *handle, CURLINFO info);

// curl_multi_setopt and curl_share_setopt.
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLSHcode ccurl_share_data(CURLSH *share, curl_lock_data data);

// curl_multi_info_read for the one message there is: the handle that has ended, with its result; NULL if none has.
CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result);

#endif
