import CCurl
import HalcyonNetworking

/// Translates libcurl's errors.
enum CurlFailure {
    /// Returns the error of a transfer that libcurl ended.
    static func error(_ code: CURLcode, _ transfer: CurlTransfer) -> NetworkError {
        let request = transfer.order.request
        let reason = message(code, transfer)
        if let address = transfer.refusedPeer { return .peerRefused(address: address) }
        switch code {
        case CURLE_URL_MALFORMAT: return .invalidURL(request.url.absoluteString)
        case CURLE_UNSUPPORTED_PROTOCOL:
            // A response in HTTP/0.9 has the same number as a scheme that libcurl was built without.
            return transfer.isConnected ? .invalidResponse(reason) : .unsupportedScheme(request.url.scheme ?? "")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: return .invalidResponse(reason)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .cannotFindHost(reason)
        case CURLE_COULDNT_CONNECT: return .cannotConnect(reason)
        case CURLE_PARTIAL_FILE: return truncated(transfer)
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM:
            return transfer.received > 0 ? truncated(transfer) : .connectionLost(reason)
        // The loop keeps the other limits of time.
        case CURLE_OPERATION_TIMEDOUT: return .timedOut(.connect)
        case CURLE_OUT_OF_MEMORY where transfer.isConnected && transfer.head == nil:
            guard ccurl_get_long(transfer.handle, CURLINFO_REQUEST_SIZE) > 0 else {
                return .transport(code: Int(code.rawValue), "The header fields of the request are longer than 1 MB")
            }
            // A single line is longer than libcurl accepts.
            return .headersTooLarge(limit: request.limits.headerBytes)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_USE_SSL_FAILED:
            return .tls(reason)
        default: return .transport(code: Int(code.rawValue), reason)
        }
    }

    /// Returns the error for a call of the multi interface; `nil` if it succeeded.
    static func error(_ code: CURLMcode) -> NetworkError? {
        guard code != CURLM_OK else { return nil }
        return .transport(code: Int(code.rawValue), curl_multi_strerror(code).map { String(cString: $0) } ?? "unknown")
    }

    private static func truncated(_ transfer: CurlTransfer) -> NetworkError {
        let head = transfer.head
        return .truncatedBody(
            received: transfer.received, expected: head?.isCompressed == true ? nil : head?.contentLength)
    }

    private static func message(_ code: CURLcode, _ transfer: CurlTransfer) -> String {
        if let text = transfer.message.baseAddress.map({ String(cString: $0) }), !text.isEmpty { return text }
        return curl_easy_strerror(code).map { String(cString: $0) } ?? "unknown"
    }
}

/// Reads the metrics of a transfer.
enum CurlMetrics {
    /// Returns the metrics of a handle whose transfer has ended.
    static func read(_ handle: UnsafeMutableRawPointer, queued: Duration) -> TransferMetrics {
        func time(_ info: CURLINFO) -> Int64 { Int64(ccurl_get_offset(handle, info)) }
        func phase(_ from: Int64, _ to: Int64) -> Duration { .microseconds(to > from ? to - from : 0) }
        // All of them count from the start of the transfer, and are 0 if the phase did not take place.
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

    /// Returns whether the connection of a transfer carries several at once.
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
