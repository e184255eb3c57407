//! A rendered request.

/// A request that is ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, in upper case.
    pub method: &'static str,
    /// The whole address.
    pub url: String,
    /// The headers, with their names as the document has them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
}

impl std::fmt::Debug for Request {
    /// Addresses, headers and bodies may hold secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Request({}, …)", self.method)
    }
}
