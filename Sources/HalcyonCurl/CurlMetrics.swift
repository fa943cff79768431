import CCurl
import HalcyonNetworking

/// What libcurl measured.
enum CurlMetrics {
    /// Reads it from a handle whose transfer has ended.
    static func read(_ handle: UnsafeMutableRawPointer, queued: Duration) -> TransferMetrics {
        func time(_ info: CURLINFO) -> Int64 { Int64(ccurl_get_offset(handle, info)) }
        func phase(_ from: Int64, _ to: Int64) -> Duration { .microseconds(to > from ? to - from : 0) }
        // All of them are counted from the start of the transfer, and 0 where the phase did not take place.
        let named = time(CURLINFO_NAMELOOKUP_TIME_T)
        let connected = time(CURLINFO_CONNECT_TIME_T)
        let agreed = time(CURLINFO_APPCONNECT_TIME_T)
        var metrics = TransferMetrics()
        metrics.queued = queued
        metrics.nameLookup = phase(0, named)
        metrics.connect = phase(named, connected)
        metrics.tls = phase(connected, agreed)
        metrics.firstByte = phase(time(CURLINFO_PRETRANSFER_TIME_T), time(CURLINFO_STARTTRANSFER_TIME_T))
        metrics.total = phase(0, time(CURLINFO_TOTAL_TIME_T))
        metrics.bytesReceived =
            Int64(ccurl_get_long(handle, CURLINFO_HEADER_SIZE)) + time(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.bytesSent = Int64(ccurl_get_long(handle, CURLINFO_REQUEST_SIZE)) + time(CURLINFO_SIZE_UPLOAD_T)
        metrics.reusedConnection = ccurl_get_long(handle, CURLINFO_NUM_CONNECTS) == 0
        metrics.httpVersion = version(ccurl_get_long(handle, CURLINFO_HTTP_VERSION))
        if let address = ccurl_get_string(handle, CURLINFO_PRIMARY_IP) {
            metrics.remoteAddress = String(cString: address)
        }
        return metrics
    }

    /// Whether a transfer's connection carries several at once.
    static func isMultiplexed(_ handle: UnsafeMutableRawPointer) -> Bool {
        ccurl_get_long(handle, CURLINFO_HTTP_VERSION) >= Int(CURL_HTTP_VERSION_2_0)
    }

    private static func version(_ number: Int) -> String {
        switch number {
        case Int(CURL_HTTP_VERSION_1_0): "1.0"
        case Int(CURL_HTTP_VERSION_1_1): "1.1"
        case Int(CURL_HTTP_VERSION_2_0): "2"
        case Int(CURL_HTTP_VERSION_3): "3"
        default: ""
        }
    }
}
